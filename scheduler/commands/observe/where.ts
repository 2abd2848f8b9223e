import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { answerWhere } from '../../hub/questions/answers/answer-where.ts';
import { atOrNow, parseQuestion } from '../../hub/questions/history/parse-question.ts';
import { openHub } from '../../hub/open-hub.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { atFlag, questionFlags } from '../../settings/question-flags.ts';

const { workload: _, ...flags } = questionFlags;

export default class Where extends FleetCommand {
  static override description =
    'Show which version of a workload runs where, since when, and when each agent was last heard.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> order-api',
    '<%= config.bin %> <%= command.id %> order-api --environment prod --at 30d --json',
  ];
  static override args = {
    workload: Args.string({ required: true, description: 'Workload or assignment' }),
  };
  static override flags = { ...flags, ...atFlag };

  async run(): Promise<unknown> {
    const { args, flags: given } = await this.parse(Where);
    const now = this.readNow(given.now);
    await using hub = await openHub(await readConfiguration(given, process.cwd()));
    const question = await parseQuestion(hub, { ...given, ...args, asKnownAt: given['as-known-at'] }, now);
    const { lines, json } = await answerWhere(hub, { ...question, at: atOrNow(question, now) }, now);
    this.print(lines);
    return json;
  }
}
