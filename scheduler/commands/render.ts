import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetError, formatError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../settings/configuration.ts';
import { platformFlags } from '../settings/configuration-flags.ts';
import { loadPlatform } from '../load/load-platform.ts';
import { renderEnvironment } from '../render/render-environment.ts';
import { writeTree } from '../render/write-tree.ts';
import { heldLines, summariseHeld } from './held-lines.ts';
import { platformOptions } from '../load/platform/platform-options.ts';

export default class Render extends FleetCommand {
  static override description =
    `Writes the GitOps tree of one environment: <cluster type>/<deployment target>/ with namespace, configuration and reconciler.

The layout is Kalypso's. Only folders of cluster types are touched; what is stale in them is removed, but not what is only held.`;
  static override examples = [
    '<%= config.bin %> render --platform examples/platform --environment dev --out rendered',
    '<%= config.bin %> render --platform control-plane --environment dev --out tree --map https://github.com/me/control-plane#dev=../dev',
  ];
  static override flags = {
    ...platformFlags,
    environment: Flags.string({ char: 'e', required: true, description: 'Environment to render' }),
    out: Flags.string({ char: 'o', required: true, description: 'Directory to write to' }),
    'stale-ok': Flags.boolean({
      description: 'Use the last known state of a repository that does not answer',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Render);
    const configuration = await readConfiguration(flags, process.cwd());
    const loaded = await loadPlatform({
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      environment: flags.environment,
      holdWorkloads: true,
      staleOk: flags['stale-ok'],
      ...defined({ fleet: flags.fleet }),
    });
    const { schedule, result, tree, isKept } = renderEnvironment(loaded);
    const { heldWorkloads = [] } = loaded;
    const changes = await writeTree(flags.out, tree, isKept);
    const held = result.held.map(({ assignment: { clusterType, target }, error }) => ({
      name: `${clusterType.name}/${target.name}`,
      error,
      kept: false,
    }));
    for (const line of heldLines(held)) this.say(line);
    for (const { errors } of heldWorkloads)
      for (const error of errors) this.say(`held: ${formatError(error)}`);
    for (const one of schedule.advice) this.say(`advice: ${formatError(one)}`);
    this.log(
      `${formatCount(result.packages.length, 'assignment')} rendered to ${flags.out}: ${changes.written.length} files written, ${changes.removed.length} removed, ${changes.unchanged} unchanged`,
    );
    if (held.length + heldWorkloads.length > 0) {
      process.exitCode = new FleetError('ASSIGNMENTS_HELD', '').exitCode;
      this.log(`${summariseHeld(held.length, heldWorkloads.length)}; the others are not affected`);
    }
    return {
      ...changes,
      advice: schedule.advice.map((one) => this.toErrorJson(one)),
      heldWorkloads: heldWorkloads.map(({ registration, errors }) => ({
        registration,
        problems: errors.map((error) => this.toErrorJson(error)),
      })),
      held: result.held.map(({ assignment, error }) => ({
        assignment: assignment.target.name,
        clusterType: assignment.clusterType.name,
        ...(this.toErrorJson(error) as object),
      })),
    };
  }
}
