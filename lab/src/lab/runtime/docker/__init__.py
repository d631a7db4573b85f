"""The docker runtime: every process of a run in a container of docker-compose.yml."""
