import { formatCount } from '#bundles/format-count';
import { Args } from '@oclif/core';
import { CODES, FleetError, formatError, isFleetError } from '#bundles/errors';
import { openFiles } from '#bundles/formats/medium/open-files';
import { FleetCommand } from '#cli/fleet-command';
import { type Configuration, readConfiguration } from '../settings/configuration.ts';
import { hubFlags } from '../settings/configuration-flags.ts';
import { noteVersions } from '../hub/questions/history/note-versions.ts';
import type { Hub } from '../hub/hub.ts';
import { openHub } from '../hub/open-hub.ts';
import { describeRefused } from '../hub/refused.ts';
import { formatGaps } from '../hub/ingest/reports/find-head.ts';
import {
  type ImportedAgent,
  type ImportedReports,
  importReports,
} from '../hub/ingest/reports/import-reports.ts';
import type { FormerReport } from '../hub/ingest/reports/read-former.ts';
import { answerLocal } from './answer-local.ts';

export default class ReportsImport extends FleetCommand {
  static override description =
    'Import the reports on a medium, and write the receipts that let agents delete them.\n\nAn invalid report does not stop the others. All reasons are listed at the end, with exit code 8. Reports by a key that was replaced since are left as they are and named.';
  static override examples = ['<%= config.bin %> <%= command.id %> /media/stick'];
  static override args = {
    medium: Args.string({ required: true, description: 'Directory or tar file with reports' }),
  };
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ReportsImport);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    await using hub = await openHub(configuration);
    await using medium = await openFiles(args.medium, { signal: this.signal });
    const result = await importReports(hub, medium, now, this.signal);
    this.#print(result, args.medium);
    await noteVersions(hub);
    const local = await this.#answerLocal(hub, configuration, now);
    return {
      agents: result.agents,
      support: result.support,
      refused: result.refused.map(describeRefused),
      former: result.former,
      answered: result.answered ?? null,
      local,
    };
  }

  /** The reports are in, so a key that is missing here only delays the answers. */
  async #answerLocal(
    hub: Hub,
    { siteValues: review }: Configuration,
    now: Date,
  ): Promise<readonly unknown[]> {
    try {
      const terms = { review, now, command: 'reports import', signal: this.signal };
      const { decisions, lines } = await answerLocal(hub, terms);
      for (const line of lines) this.log(line);
      return decisions.map(({ row: { agent, name, edit }, outcome, note }) => ({
        agent,
        name,
        edit,
        outcome,
        note,
      }));
    } catch (error) {
      if (!isFleetError(error)) throw error;
      this.say(
        `${this.config.bin}: values that people at sites set are not answered yet: ${formatError(error)}`,
      );
      return [];
    }
  }

  #print({ agents, support, refused, former, answered }: ImportedReports, path: string): void {
    for (const agent of agents) this.log(describeImported(agent));
    for (const { agent, request, outcome } of support)
      this.log(
        `${agent}  support bundle ${request === null ? 'created on the machine' : `for request ${request}`}: ${OUTCOMES[outcome]}`,
      );
    for (const reports of Map.groupBy(former, ({ agent, replacedAt }) => `${agent} ${replacedAt}`).values())
      this.log(describeFormer(reports));
    if (answered?.written) this.log(`The receipts are on ${path}: carry it back and run fleet-agent import.`);
    else if (answered)
      this.log(
        `The receipts could not be written onto ${path}, because ${answered.why}. They are in the layout: the next export carries them.`,
      );
    for (const { error } of refused.slice(0, MAX_SHOWN))
      this.say(`${this.config.bin}: ${formatError(error)}`);
    if (refused.length > MAX_SHOWN)
      this.say(`${this.config.bin}: and ${refused.length - MAX_SHOWN} more, which --json lists`);
    const alarms = agents.reduce((count, agent) => count + agent.alarms.length, 0);
    if (refused.length === 0 && alarms === 0) return;
    const error = new FleetError(
      'REPORTS_REFUSED',
      `refused: ${formatCount(refused.length, 'report')}; raised: ${formatCount(alarms, 'alarm')}`,
      { hint: 'The reasons are above; all other reports were imported' },
    );
    process.exitCode = CODES[error.code].exit;
    this.say(`${this.config.bin}: ${formatError(error)}`);
  }
}

const OUTCOMES = {
  taken: 'stored, "fleet-scheduler support show" reads it',
  known: 'stored before',
  late: 'not stored: another bundle answered the request earlier',
} as const;

/** Refused reports that are shown. Anybody who holds a medium can add thousands. */
const MAX_SHOWN = 50;

/** 'plant-7/press-2  3 reports are by a key that was replaced on 2026-11-20T08:00:00Z and are left as they are; 1 never arrived'. */
const describeFormer = (reports: readonly FormerReport[]): string => {
  const [{ agent, replacedAt }] = reports as [FormerReport];
  const lost = reports.filter(({ known }) => !known).length;
  const isOne = reports.length === 1;
  const said = `${reports.length} ${isOne ? 'report is' : 'reports are'} by a key that was replaced on ${replacedAt} and ${isOne ? 'is left as it is' : 'are left as they are'}`;
  return `${agent}  ${said}${lost === 0 ? '' : `; ${lost} of them never arrived while that key counted, and cannot be taken any more`}`;
};

const describeImported = ({ agent, taken, known, gaps, alarms, acknowledged }: ImportedAgent): string =>
  [
    `${agent}  ${taken} events taken, ${known} already known`,
    acknowledged === 0 ? 'no event acknowledged yet' : `acknowledged up to ${acknowledged}`,
    ...(gaps.length > 0 ? [`missing ${formatGaps(gaps)}`] : []),
    ...alarms.map((alarm) => `ALARM: ${alarm}`),
  ].join('  ');
