import { join } from 'node:path';
import { Flags } from '@oclif/core';
import { type ErrorCode, type FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { checkMounted } from '#bundles/formats/medium/check-mounted';
import { isFolder } from '#bundles/formats/medium/plain-files';
import { formatTime } from '#bundles/time';
import { supportPath } from '#bundles/trust/reports/find-support';
import { FORCE_PATH_FLAG } from '#cli/flags';
import { writeOntoMedium } from '../acquire/blobs/write-onto-medium.ts';
import { loadKey } from '../hub/agent-key.ts';
import { exportSupport } from '../report/export-support.ts';
import { fullName } from '../store/identity.ts';
import { createSupportBundle } from '../support/create-support-bundle.ts';
import { freeBytesOf } from '../acquire/blobs/free-space.ts';
import { examineKubernetes } from '../apply/kubernetes/examine/examine-kubernetes.ts';
import { openCluster } from '../apply/kubernetes/create-kubernetes.ts';
import type { Target } from '../model/target.ts';
import type { Config } from '../config/config.ts';
import { createProviders } from '../images/create-providers.ts';
import { examine, examineMachine, type Finding } from '../observe/examine.ts';
import { examineNetwork } from '../observe/examine-network.ts';
import { AgentCommand, type ConfigFlags, openToRead } from './agent-command.ts';

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
  static override description =
    'With --bundle it also writes one signed file for the office: findings, status, last looks, operations, events, versions, disks, the ' +
    "journals of the packages' units and of the agent, and what a cluster says about their objects. Secrets that this machine knows, and " +
    'texts that look like secrets, are replaced.';
  static override examples = [
    '<%= config.bin %> doctor',
    '<%= config.bin %> doctor --json',
    '<%= config.bin %> doctor --bundle /media/stick',
    '<%= config.bin %> doctor --bundle press-1.tar',
  ];
  static override flags = {
    ...FORCE_PATH_FLAG,
    bundle: Flags.string({
      description:
        'Write a support bundle: into this file, or beside the reports on the medium at this directory',
    }),
  };

  async run(): Promise<{ readonly findings: readonly Finding[]; readonly bundle?: string }> {
    const { flags } = await this.parse(Doctor);
    const findings = await this.examine(flags);
    this.print({ rows: findings.map(({ name, verdict, message }) => [name, verdict, message]) });
    if (findings.some(({ verdict }) => verdict === 'bad')) process.exitCode = 8;
    if (flags.bundle === undefined) return { findings };
    const bundle = await this.writeBundle(flags, flags.bundle);
    this.log(
      `Wrote the support bundle ${bundle}, signed by this machine: the office reads it with "fleet-scheduler support".`,
    );
    return { findings, bundle };
  }

  /** @returns the path of the file @throws FleetError NOT_ENROLLED, MEDIUM_MISSING, MEDIUM_INVALID, DISK_FULL, PERMISSION */
  private async writeBundle(
    flags: ConfigFlags & { readonly 'force-path'?: boolean },
    path: string,
  ): Promise<string> {
    const isMedium = await isFolder(path);
    if (isMedium && flags['force-path'] !== true) await checkMounted(path);
    return await this.reading(
      flags,
      async (agent, config) => {
        const key = await loadKey(agent);
        const sources = { config, env: process.env };
        if (!isMedium) {
          await writeFileAtomically(path, await createSupportBundle(agent, key, sources, null), 0o600).catch(
            (error: unknown) => {
              throw toFleetError(error, `writing ${path}`);
            },
          );
          return path;
        }
        const answer = await exportSupport(agent, key, path, sources);
        if (answer !== undefined) return join(path, answer);
        const name = formatTime(agent.edge.now()).toLowerCase().replaceAll(/[-:]/g, '');
        const file = supportPath(fullName(agent.identity), name);
        await writeOntoMedium(path, file, await createSupportBundle(agent, key, sources, null));
        return join(path, file);
      },
      openToRead,
    );
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
    const images = await createProviders(config, process.env);
    const edge = this.edge(config, flags);
    const { signal } = this;
    return await examineMachine({ config, edge, targets, images, signal, freeBytes: freeBytesOf }, why);
  }

  private cluster(config: Config): Pick<Target, 'examine'> {
    return { examine: (signal) => examineKubernetes(() => openCluster(config), config.namespace, signal) };
  }
}
