import { formatCount } from '#bundles/format-count';
import { Args } from '@oclif/core';
import { checkMounted } from '#bundles/formats/medium/check-mounted';
import { FORCE_PATH_FLAG } from '#cli/flags';
import { loadKey } from '../../hub/agent-key.ts';
import { type ExportedReport, exportReports } from '../../report/export-reports.ts';
import { exportSupport } from '../../report/export-support.ts';
import { AgentCommand } from '../agent-command.ts';
import { type FleetError, toFleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import type { Config } from '../../config/config.ts';
import { judgeLook } from '../../observe/judge-look.ts';
import { lookOnly } from '../../observe/observe.ts';
import { noteLooked } from '../../report/note-looked.ts';
import { checkReportable } from '../../report/signed-batches.ts';
import type { Agent } from '../../store/agent.ts';
import { wakeDaemon } from '../../store/wake-daemon.ts';

type ExportedReports = {
  readonly reports: readonly ExportedReport[];
  /** Whether live state was compared for this report; otherwise it says when it last was. */
  readonly looked: boolean;
  /** Path on the medium of the support bundle that the office asked for; null: it asked for none. */
  readonly support: string | null;
};

export default class ReportsExport extends AgentCommand {
  static override summary = 'Write the events of this machine onto a medium, signed, for the office.';
  static override description =
    'Compares live state first, so that the report says how this machine is now; it changes nothing on it. ' +
    'Events stay here until a receipt comes back on a medium, so a lost stick loses nothing: export again.';
  static override examples = ['<%= config.bin %> reports export /media/stick'];
  static override args = {
    medium: Args.string({ required: true, description: 'Directory of the medium' }),
  };
  static override flags = FORCE_PATH_FLAG;

  async run(): Promise<ExportedReports> {
    const { args, flags } = await this.parse(ReportsExport);
    if (!flags['force-path']) await checkMounted(args.medium);
    const config = this.readConfig(flags);
    const { reports, support, service, looked } = await this.reading(flags, async (agent) => {
      const key = await loadKey(agent);
      checkReportable(agent);
      const unseen = await this.look(agent, config);
      const { service: found } = judgeLook(agent, config);
      return {
        reports: await exportReports(agent, key, args.medium),
        support: await exportSupport(agent, key, args.medium, { config, env: process.env }),
        service: found,
        looked: unseen === undefined,
      };
    });
    const events = reports.reduce((sum, { from, to }) => sum + to - from + 1, 0);
    this.log(
      `Wrote ${formatCount(events, 'event')} in ${formatCount(reports.length, 'signed report')} onto ${args.medium}:`,
    );
    for (const { files } of reports) this.log(`  ${files[0]}`);
    if (support !== undefined) this.log(`Wrote the support bundle that the office asked for: ${support}`);
    if (service.todo !== null)
      this.warn(
        `The service does not run, which the report says: nothing compares this machine with its release between reports. "${service.todo}" starts it`,
      );
    return { reports, looked, support: support ?? null };
  }

  /** Looks under the lock. Without a look the report says when the last one was. @returns why there was no look */
  private async look(agent: Agent, config: Config): Promise<FleetError | undefined> {
    try {
      using _lock = await this.lock(config, agent.edge);
      const found = await lookOnly(agent);
      noteLooked(agent);
      const differing = found.filter(({ drift, error, failure }) => drift.length > 0 || error || failure);
      if (differing.length > 0)
        this.log(
          `Not as released: ${nameSome(differing.map(({ assignment }) => assignment))}; "fleet-agent diff" and "fleet-agent status" show more.`,
        );
      return undefined;
    } catch (cause) {
      const error = toFleetError(cause);
      if (error.code === 'ABORTED') throw error;
      this.warn(
        `This machine was not compared with its release for this report, which says when it last was: ${error.code}: ${error.message}`,
      );
      return error;
    } finally {
      wakeDaemon(config.state, 'changed', agent.edge.now());
    }
  }
}
