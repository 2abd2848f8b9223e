import { type ErrorCode, type FleetError, isFleetError } from '#bundles/errors';
import { freeBytesOf } from '../acquire/blobs/free-space.ts';
import { examineKubernetes } from '../apply/kubernetes/examine/examine-kubernetes.ts';
import { openCluster } from '../apply/kubernetes/make-kubernetes.ts';
import type { Target } from '../model/target.ts';
import type { Config } from '../config/config.ts';
import { makeProviders } from '../images/make-providers.ts';
import { examine, examineMachine, type Finding } from '../observe/examine.ts';
import { examineNetwork } from '../observe/examine-network.ts';
import { AgentCommand, type ConfigFlags } from './agent-command.ts';
import { table } from './table.ts';

/** The state cannot be opened, and the checks that do not need it are useful. */
const WITHOUT_STATE: ReadonlySet<ErrorCode> = new Set([
  'NOT_ENROLLED',
  'PERMISSION',
  'AGENT_TOO_OLD',
  'STORE_CORRUPT',
  'DISK_FULL',
  'IO',
]);

export default class Doctor extends AgentCommand {
  static override summary =
    'Look at clock, disk, permissions, systemd, trust root, secrets, store, registry, hub and clusters. Exit code 8 when one is bad.';
  static override examples = ['<%= config.bin %> doctor', '<%= config.bin %> doctor --json'];

  async run(): Promise<{ readonly findings: readonly Finding[] }> {
    const { flags } = await this.parse(Doctor);
    const findings = await this.examine(flags);
    this.logText(table(findings.map(({ name, verdict, message }) => [name, verdict, message])));
    if (findings.some(({ verdict }) => verdict === 'bad')) process.exitCode = 8;
    return { findings };
  }

  private async examine(flags: ConfigFlags): Promise<readonly Finding[]> {
    try {
      return await this.reading(flags, async (agent, config) => [
        ...(await examine({ ...agent, config })),
        ...(await examineNetwork(agent, config, process.env)),
      ]);
    } catch (error) {
      if (!isFleetError(error) || !WITHOUT_STATE.has(error.code)) throw error;
      return await this.withoutState(flags, error);
    }
  }

  /** Checks the requirements of packages before a technician has to travel. Also works for users other than the agent's. */
  private async withoutState(flags: ConfigFlags, why: FleetError): Promise<readonly Finding[]> {
    const config = this.readConfig(flags);
    const targets = config.targets.includes('kubernetes') ? [this.cluster(config)] : [];
    const images = await makeProviders(config, process.env);
    const edge = this.edge(config, flags);
    const { signal } = this;
    return await examineMachine({ config, edge, targets, images, signal, freeBytes: freeBytesOf }, why);
  }

  private cluster(config: Config): Pick<Target, 'examine'> {
    return { examine: (signal) => examineKubernetes(() => openCluster(config), config.namespace, signal) };
  }
}
