"""Helpers that tests share: repositories, commands, servers, browsers."""
