import { Args } from '@oclif/core';
import { CODES, FleetError, formatError } from '#bundles/errors';
import { openFiles } from '#bundles/formats/medium/open-files';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../settings/configuration.ts';
import { hubFlags } from '../settings/configuration-flags.ts';
import { noteVersions } from '../hub/questions/history/note-versions.ts';
import { openHub } from '../hub/hub.ts';
import { describeRefused } from '../hub/refused.ts';
import { formatGaps } from '../hub/ingest/reports/find-head.ts';
import {
  type ImportedAgent,
  type ImportedReports,
  importReports,
} from '../hub/ingest/reports/import-reports.ts';

export default class ReportsImport extends FleetCommand {
  static override description =
    'Import the reports on a medium, and write the receipts that let agents delete them.\n\nAn invalid report does not stop the others. All reasons are listed at the end, with exit code 8.';
  static override examples = ['<%= config.bin %> <%= command.id %> /media/stick'];
  static override args = {
    medium: Args.string({ required: true, description: 'Directory or tar file with reports' }),
  };
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ReportsImport);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    await using medium = await openFiles(args.medium);
    const result = await importReports(hub, medium, this.readNow(flags.now), this.signal);
    this.#print(result, args.medium);
    await noteVersions(hub);
    return {
      agents: result.agents,
      refused: result.refused.map(describeRefused),
      answered: result.answered ?? null,
    };
  }

  #print({ agents, refused, answered }: ImportedReports, path: string): void {
    for (const agent of agents) this.log(describe(agent));
    if (answered?.written) this.log(`The receipts are on ${path}: carry it back and run fleet-agent import.`);
    else if (answered)
      this.log(
        `The receipts could not be written onto ${path}, because ${answered.why}. They are in the layout: the next export carries them.`,
      );
    for (const { error } of refused) this.say(`${this.config.bin}: ${formatError(error)}`);
    const alarms = agents.reduce((count, agent) => count + agent.alarms.length, 0);
    if (refused.length === 0 && alarms === 0) return;
    const error = new FleetError(
      'REPORTS_REFUSED',
      `${refused.length} reports were refused, ${alarms} alarms were raised`,
      { hint: 'The reasons are above; all other reports were imported' },
    );
    process.exitCode = CODES[error.code].exit;
    this.say(`${this.config.bin}: ${formatError(error)}`);
  }
}

const describe = ({ agent, taken, known, gaps, alarms, acknowledged }: ImportedAgent): string =>
  [
    `${agent}  ${taken} events taken, ${known} already known`,
    acknowledged === 0 ? 'no event acknowledged yet' : `acknowledged up to ${acknowledged}`,
    ...(gaps.length > 0 ? [`missing ${formatGaps(gaps)}`] : []),
    ...alarms.map((alarm) => `ALARM: ${alarm}`),
  ].join('  ');
