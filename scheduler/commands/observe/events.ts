import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { answerEvents } from '../../hub/questions/answers/answer-events.ts';
import { parseQuestion } from '../../hub/questions/history/parse-question.ts';
import { openHub } from '../../hub/open-hub.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { questionFlags, spanFlags } from '../../settings/question-flags.ts';

export default class Events extends FleetCommand {
  static override description =
    'Show the events as the agents signed them, each with the report that brought it, newest report first.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7/press-1',
    '<%= config.bin %> <%= command.id %> order-api --since 24h --json',
  ];
  static override args = {
    name: Args.string({ description: 'Environment, site, agent as <site>/<agent>, workload or assignment' }),
  };
  static override flags = { ...questionFlags, ...spanFlags };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Events);
    const now = this.readNow(flags.now);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const question = await parseQuestion(hub, { ...flags, ...args, asKnownAt: flags['as-known-at'] }, now);
    const { lines, json } = await answerEvents(hub, question, now);
    this.print(lines);
    return json;
  }
}
