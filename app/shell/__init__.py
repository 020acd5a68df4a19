"""What every part of the window uses: the state, jobs, messages, settings, commands, theme and icons."""
