import { Args, Flags } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { answerHistory } from '../../hub/questions/answers/answer-history.ts';
import { answerWhere } from '../../hub/questions/answers/answer-where.ts';
import { parseQuestion } from '../../hub/questions/history/parse-question.ts';
import { openHub } from '../../hub/open-hub.ts';
import { rebuildHistory } from '../../hub/ingest/reports/rebuild-history.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { atFlag, questionFlags, spanFlags } from '../../settings/question-flags.ts';

export default class History extends FleetCommand {
  static override description =
    'Show what changed at the sites and which releases their channels had, newest first.\n\nTimes are those at the sites; changes that were reported an hour later or more are marked. With --at the state of a past time is shown, and with --as-known-at what the hub knew then. Times are written as 2026-11-21T08:00:00Z, as a day in UTC, or as how long ago: 90m, 12h, 7d.\n\n--rebuild rebuilds the history and the current states from the stored events.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7 --since 7d',
    '<%= config.bin %> <%= command.id %> order-api --json',
    '<%= config.bin %> <%= command.id %> prod --at 2026-11-21T08:00:00Z',
    '<%= config.bin %> <%= command.id %> --rebuild',
  ];
  static override args = {
    name: Args.string({ description: 'Environment, site, agent as <site>/<agent>, workload or assignment' }),
  };
  static override flags = {
    ...questionFlags,
    ...spanFlags,
    ...atFlag,
    rebuild: Flags.boolean({
      description: 'Rebuild the history from the stored events',
      exclusive: ['at', 'since', 'until', 'as-known-at', 'cursor', 'limit'],
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(History);
    const now = this.readNow(flags.now);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    if (flags.rebuild) {
      const rebuilt = await rebuildHistory(hub.store, this.signal);
      this.log(`${rebuilt.changes} changes from ${rebuilt.events} events in ${rebuilt.reports} reports`);
      return rebuilt;
    }
    const question = await parseQuestion(hub, { ...flags, ...args, asKnownAt: flags['as-known-at'] }, now);
    const { lines, json } = question.at
      ? await answerWhere(hub, { ...question, at: question.at }, now)
      : await answerHistory(hub, question, now);
    this.print(lines);
    return json;
  }
}
