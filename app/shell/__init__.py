"""What every part of the window uses: state, jobs, messages, settings, commands, theme and icons."""
