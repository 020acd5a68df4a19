"""One body part a file: how its radiograph is composed of bones, soft tissue and air."""
