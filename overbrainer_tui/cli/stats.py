"""The command `stats`: the dataset in numbers, from local files only."""

from __future__ import annotations

import click

from overbrainer_core.project.paths import ProjectPaths
from overbrainer_tui.cli.context import ListingCommand, options_of, start_logging
from overbrainer_tui.cli.output import write_json, write_lines


@click.command(cls=ListingCommand)
@click.pass_context
def stats(context: click.Context) -> None:
    """Count the dataset, topic by topic: lengths, what was excluded, near-duplicates, leaks into the evaluation."""
    from overbrainer_core.config.env import read_environment  # the settings' libraries
    from overbrainer_core.config.load import load_settings
    from overbrainer_core.flows.stats import dataset_stats, stats_document, stats_lines

    options = options_of(context)
    start_logging(options, reads_env=True)
    paths = ProjectPaths(options.directory)
    settings = load_settings(paths, read_environment(paths, options.environment))
    found = dataset_stats(paths, settings)
    if options.json:
        write_json(stats_document(found))
    else:
        write_lines(stats_lines(found))
