import { Flags } from '@oclif/core';
import { type History as HistoryReport, readHistory } from '../observe/read-history.ts';
import { AgentCommand, openToRead } from './agent-command.ts';

export default class History extends AgentCommand {
  static override summary = 'Show the last operations and the unacknowledged events.';
  static override examples = ['<%= config.bin %> history', '<%= config.bin %> history --limit 100 --json'];
  static override flags = {
    limit: Flags.integer({ min: 1, max: 1000, default: 20, description: 'How many of each' }),
  };

  async run(): Promise<HistoryReport> {
    const { flags } = await this.parse(History);
    const history = await this.reading(flags, ({ state }) => readHistory(state, flags.limit), openToRead);
    this.print(
      history.operations.length === 0
        ? 'No operation yet.'
        : {
            head: ['WHEN', 'SECONDS', 'PACKAGE', 'WHAT', 'OUTCOME', 'OBJECTS', 'REASON'],
            rows: history.operations.map((it) => [
              it.at,
              String(it.seconds ?? '-'),
              it.assignment,
              it.kind,
              it.outcome ?? '',
              Object.entries(it.objects)
                .map(([outcome, count]) => `${count} ${outcome}`)
                .join(', '),
              [it.code, it.message].filter((part) => part !== null).join(': '),
            ]),
          },
      '',
      history.events.length === 0
        ? 'No event waits for the hub.'
        : {
            head: ['EVENT', 'WHEN', 'TYPE', 'PACKAGE', 'OUTCOME', 'MESSAGE'],
            rows: history.events.map((it) => [
              String(it.seq),
              it.at,
              it.type,
              it.assignment ?? '-',
              it.outcome ?? '-',
              [it.code, it.message].filter((part) => part !== undefined).join(': '),
            ]),
          },
    );
    return history;
  }
}
