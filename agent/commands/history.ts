import { Flags } from '@oclif/core';
import { type History as HistoryReport, readHistory } from '../observe/read-history.ts';
import { AgentCommand, openToRead } from './agent-command.ts';
import { table } from './table.ts';

export default class History extends AgentCommand {
  static override summary = 'Show the last operations and the unacknowledged events.';
  static override examples = ['<%= config.bin %> history', '<%= config.bin %> history --limit 100 --json'];
  static override flags = {
    limit: Flags.integer({ min: 1, max: 1000, default: 20, description: 'How many of each' }),
  };

  async run(): Promise<HistoryReport> {
    const { flags } = await this.parse(History);
    const history = await this.reading(flags, ({ state }) => readHistory(state, flags.limit), openToRead);
    this.logText(
      table([
        ['WHEN', 'SECONDS', 'PACKAGE', 'WHAT', 'OUTCOME', 'OBJECTS', 'REASON'],
        ...history.operations.map((it) => [
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
      ]),
    );
    this.log('');
    this.logText(
      table([
        ['EVENT', 'WHEN', 'TYPE', 'PACKAGE', 'OUTCOME', 'MESSAGE'],
        ...history.events.map((it) => [
          String(it.seq),
          it.at,
          it.type,
          it.assignment ?? '-',
          it.outcome ?? '-',
          [it.code, it.message].filter((part) => part !== undefined).join(': '),
        ]),
      ]),
    );
    return history;
  }
}
