import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../settings/configuration.ts';
import { platformFlags } from '../settings/configuration-flags.ts';
import { explainPlatform } from '../views/explain/explain-platform.ts';
import { formatPair } from '../views/explain/format-explanation.ts';
import { loadPlatform } from '../load/load-platform.ts';
import { platformOptions } from '../load/platform/platform-options.ts';

export default class Explain extends FleetCommand {
  static override description = `Shows where assignments, their files and every configuration value come from.

For each assignment: the policy and what it selected by, the template of each file, and for each value its file, line and
layer, why that layer holds, and what it overrode. For a pair that is no assignment: which term of which policy failed.`;
  static override examples = [
    '<%= config.bin %> explain ship/telemetry-ship --platform examples/platform --environment prod',
    '<%= config.bin %> explain ship --environment prod --key mqtt.broker',
  ];
  static override args = {
    pair: Args.string({
      description: '<cluster type>[/<deployment target>]; all assignments when left out',
      required: false,
    }),
  };
  static override flags = {
    ...platformFlags,
    environment: Flags.string({ char: 'e', required: true, description: 'Environment to explain' }),
    key: Flags.string({ char: 'k', description: 'Only values at or below this key, like mqtt.broker' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Explain);
    const configuration = await readConfiguration(flags, process.cwd());
    const loaded = await loadPlatform({
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      environment: flags.environment,
      holdWorkloads: true,
      ...(flags.fleet !== undefined && { fleet: flags.fleet }),
    });
    const [clusterType, deploymentTarget, ...more] = args.pair?.split('/') ?? [];
    if (more.length > 0 || clusterType === '' || deploymentTarget === '') {
      throw new FleetError('USAGE', `${JSON.stringify(args.pair)} is no <cluster type>/<deployment target>`, {
        hint: 'See --help',
      });
    }
    const pairs = explainPlatform(loaded, { clusterType, deploymentTarget, key: flags.key });
    const shown = pairs.map((pair) => formatPair(pair).join('\n'));
    this.log(pairs.length === 0 ? `${flags.environment}: there is no assignment` : shown.join('\n\n'));
    if (pairs.length > 0 && flags.key !== undefined && pairs.every(({ values }) => values.length === 0))
      this.log(`there is no value at or below ${flags.key}`);
    return {
      environment: flags.environment,
      pairs: pairs.map((pair) => ({ ...pair, held: pair.held && this.toErrorJson(pair.held) })),
    };
  }
}
