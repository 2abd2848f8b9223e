import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#bundles/program/fleet-command';
import { formatTime } from '#bundles/time';
import { readConfiguration } from '../configuration.ts';
import { hubFlags } from '../configuration-flags.ts';
import { openHub } from '../hub/hub.ts';
import { describeStatus } from '../hub/status/describe-status.ts';
import { type ActualFilter, channelsOf, readActual } from '../hub/status/read-actual.ts';
import { readDesired } from '../hub/status/read-desired.ts';
import { isQuiet, renderTable } from '../hub/status/render-table.ts';
import { whatRunsWhere } from '../hub/status/what-runs-where.ts';

export default class Status extends FleetCommand {
  static override description =
    'Show what runs where, against what should, and how old each word of it is.\n\nRows marked with ! need a look. Numbers in brackets are the reports below the table.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --environment prod --json',
  ];
  static override flags = {
    ...hubFlags,
    environment: Flags.string({ description: 'Only agents of this environment' }),
    site: Flags.string({ description: 'Only this site' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Status);
    const now = this.readNow(flags.now);
    const filter = {
      environment: flags.environment === undefined ? undefined : parseName(flags.environment, 'environment'),
      site: flags.site === undefined ? undefined : parseName(flags.site, 'site'),
    };
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const actual = await readActual(hub.store.db, filter);
    const desired = await readDesired(hub.layout, channelsOf(actual.agents), hub.keys.root, this.signal);
    const rows = whatRunsWhere(desired, actual.agents, now);
    const notes = describeStatus(desired, actual, now);
    if (rows.length === 0) this.log(`No agent${describeFilter(filter)} is enrolled here.`);
    else for (const line of [...renderTable(rows, now), '', ...notes]) this.log(line);
    return {
      fleet: hub.store.fleet,
      at: formatTime(now),
      needALook: rows.filter((row) => !isQuiet(row)).length,
      rows,
      gaps: actual.gaps,
      alarms: actual.alarms.map(({ agent, code, message, report, raised_at }) => ({
        agent,
        code,
        message,
        report,
        raisedAt: raised_at,
      })),
      notes,
    };
  }
}

const describeFilter = ({ environment, site }: ActualFilter): string => {
  const parts = [environment && `environment ${environment}`, site && `site ${site}`].filter(Boolean);
  return parts.length === 0 ? '' : ` of ${parts.join(' and ')}`;
};
