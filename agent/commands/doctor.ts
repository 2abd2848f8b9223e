import { examine, type Finding } from '../observe/examine.ts';
import { examineNetwork } from '../observe/examine-network.ts';
import { AgentCommand } from './agent-command.ts';
import { table } from './table.ts';

export class Doctor extends AgentCommand {
  static override summary =
    'Look at clock, disk, permissions, systemd, trust root, secrets, store, registry, hub and clusters. Exit code 8 when one is bad.';
  static override examples = ['<%= config.bin %> doctor', '<%= config.bin %> doctor --json'];

  async run(): Promise<{ readonly findings: readonly Finding[] }> {
    const { flags } = await this.parse(Doctor);
    const findings = await this.reading(flags, async (agent, config) => [
      ...(await examine({ ...agent, config })),
      ...(await examineNetwork(agent, config, process.env)),
    ]);
    this.log(table(findings.map(({ name, verdict, message }) => [name, verdict, message])));
    if (findings.some(({ verdict }) => verdict === 'bad')) process.exitCode = 8;
    return { findings };
  }
}
