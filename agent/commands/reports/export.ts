import { Args } from '@oclif/core';
import { checkMounted } from '#bundles/formats/medium/check-mounted';
import { FORCE_PATH_FLAG } from '#cli/flags';
import { loadKey } from '../../hub/agent-key.ts';
import { type ExportedReport, exportReports } from '../../report/export-reports.ts';
import { AgentCommand } from '../agent-command.ts';

export default class ReportsExport extends AgentCommand {
  static override summary = 'Write the events of this machine onto a medium, signed, for the office.';
  static override description =
    'Events stay here until a receipt comes back on a medium, so a lost stick loses nothing: export again.';
  static override examples = ['<%= config.bin %> reports export /media/stick'];
  static override args = {
    medium: Args.string({ required: true, description: 'Directory of the medium' }),
  };
  static override flags = FORCE_PATH_FLAG;

  async run(): Promise<{ readonly reports: readonly ExportedReport[] }> {
    const { args, flags } = await this.parse(ReportsExport);
    if (!flags['force-path']) await checkMounted(args.medium);
    const reports = await this.reading(flags, async (agent, config) =>
      exportReports(agent, await loadKey(config.state), args.medium),
    );
    const events = reports.reduce((sum, { from, to }) => sum + to - from + 1, 0);
    this.log(
      events === 0
        ? 'Nothing to report: every event is acknowledged.'
        : `Wrote ${events} events in ${reports.length} signed ${reports.length === 1 ? 'report' : 'reports'} onto ${args.medium}:`,
    );
    for (const { files } of reports) this.log(`  ${files[0]}`);
    return { reports };
  }
}
