import { Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { formatBytes } from '#cli/format-bytes';
import { type Copied, copyReports } from '../reports/copy-reports.ts';
import { type AgentReports, listReports, type ReportList } from '../reports/list-reports.ts';
import { IDENTITY_FLAG, MEDIUM_ARG, openForFiles } from './open-given.ts';
import { stoppable } from './stoppable.ts';
import { openAgents, AGENT_KEY_FLAGS } from './agent-key-flags.ts';

type Listed = ReportList & { readonly copied: Copied | undefined };

/** Done, and something needs a look (docs/errors.md). */
const ATTENTION = 8;

export default class Reports extends FleetCommand {
  static override summary = 'List the reports on a medium, and copy them';
  static override description =
    'Shows for each agent the events, their time, the state of the signature, and missing events. With --to the reports are ' +
    'copied to a folder, for a mail or a data diode; import that folder like the stick, with fleet-scheduler reports import. ' +
    'Over the network the hub accepts reports only from the agents that wrote them.';
  static override examples = [
    '<%= config.bin %> reports /media/stick --root-sha256 3f0c...',
    '<%= config.bin %> reports /media/stick --from oci://registry.example/fleet --to outgoing',
  ];
  static override strict = false;
  static override args = MEDIUM_ARG;
  static override flags = {
    ...AGENT_KEY_FLAGS,
    ...IDENTITY_FLAG,
    to: Flags.string({
      description: 'Copy the reports to this folder; existing files are never overwritten',
    }),
  };

  async run(): Promise<Listed> {
    const { argv, flags } = await this.parse(Reports);
    const now = this.readNow(flags.now);
    return stoppable(this.signal, 'Run it again: copies that exist are kept', async () => {
      await using opened = new AsyncDisposableStack();
      const medium = opened.use(await openForFiles(argv as string[], flags, this.signal));
      const agentsOf = await openAgents(medium, flags, now, opened);
      const list = await listReports(medium, agentsOf, this.signal);
      if (list.agents.length === 0 && list.refused.length === 0) {
        throw new FleetError('MEDIUM_EMPTY', `there are no reports on ${medium.path}`, {
          hint: 'Run fleet-agent reports export on the machine, with this medium',
        });
      }
      const copied = flags.to === undefined ? undefined : await copyReports(medium, flags.to);
      this.show(list, copied, agentsOf !== undefined);
      return { ...list, copied };
    });
  }

  private show({ agents, refused }: ReportList, copied: Copied | undefined, checked: boolean): void {
    this.print({
      head: ['AGENT', 'EVENTS', 'MADE', 'SIZE', 'SIGNATURE', 'ACKNOWLEDGED'],
      rows: agents.flatMap(rowsOf),
    });
    for (const { agent, gaps } of agents)
      for (const { from, to } of gaps) this.log(`${agent}: events ${from} to ${to} are not on this medium`);
    for (const { reports } of agents)
      for (const { path, message } of reports) if (message !== undefined) this.log(`${path}: ${message}`);
    for (const { path, message } of refused) this.log(`REFUSED ${path}: ${message}`);
    if (!checked) this.say('Note: no signature was checked; give --root-sha256 or --from.');
    if (copied) {
      const { folder, files, there } = copied;
      this.log(`${folder}: ${files} files copied${there > 0 ? `, ${there} were there` : ''}`);
    }
    const wrong = agents.some(({ reports }) => reports.some(({ signature }) => signature === 'refused'));
    if (wrong || refused.length > 0) process.exitCode = ATTENTION;
  }
}

const rowsOf = ({ agent, reports, acknowledged }: AgentReports): readonly (readonly string[])[] =>
  reports.map(({ from, to, time, bytes, signature, code }) => [
    agent,
    `${from}-${to}`,
    time,
    formatBytes(bytes),
    signature === 'refused' ? `REFUSED ${code}` : signature,
    acknowledgement(from, to, acknowledged),
  ]);

const acknowledgement = (from: number, to: number, acknowledged: number | undefined): string => {
  if (acknowledged === undefined) return '?';
  if (to <= acknowledged) return 'yes';
  return from <= acknowledged ? 'in part' : 'no';
};
