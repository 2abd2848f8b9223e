import { Args, Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetError, formatSentences } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { configurationFlags, platformFlags } from '../../settings/configuration-flags.ts';
import { explainEnvironment } from '../../views/explain/explain-environment.ts';
import { formatPair, formatPromotion } from '../../views/explain/format-explanation.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';

export default class Explain extends FleetCommand {
  static override description = `Shows where assignments, their files and every configuration value come from.

For each assignment: the policy and what it selected by, the template of each file, and for each value its file, line and
layer, why that layer holds, and what it overrode. For a pair that is not an assignment: which term of which policy failed.

With a layout, an environment that is promoted to is explained as it is built: from the promoted candidate and its own layer. The promotion and the sources come first.`;
  static override examples = [
    '<%= config.bin %> explain ship/telemetry-ship --platform examples/platform --environment prod',
    '<%= config.bin %> explain ship --environment prod --key mqtt.broker',
    '<%= config.bin %> explain --environment qa --layout out',
  ];
  static override args = {
    pair: Args.string({
      description: '<cluster type>[/<deployment target>]; all assignments when left out',
      required: false,
    }),
  };
  static override flags = {
    ...platformFlags,
    layout: configurationFlags.layout,
    environment: Flags.string({ char: 'e', required: true, description: 'Environment to explain' }),
    key: Flags.string({ char: 'k', description: 'Only values at or below this key, like mqtt.broker' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Explain);
    const configuration = await readConfiguration(flags, process.cwd());
    const [clusterType, deploymentTarget, ...more] = args.pair?.split('/') ?? [];
    if (more.length > 0 || clusterType === '' || deploymentTarget === '') {
      throw new FleetError(
        'USAGE',
        `${JSON.stringify(args.pair)} is not <cluster type>/<deployment target>`,
        {
          hint: 'See --help',
        },
      );
    }
    const { environment, key } = flags;
    const explained = await explainEnvironment(
      {
        ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
        layout: configuration.layout,
        signal: this.signal,
        ...defined({ fleet: flags.fleet }),
      },
      environment,
      { clusterType, deploymentTarget, key },
    );
    if (explained.kind === 'waiting') {
      this.log(`${environment}: ${formatSentences(explained.why)}`);
      return { environment, waits: this.toErrorJson(explained.why), pairs: [] };
    }
    const { pairs, promotion } = explained;
    const shown = [
      ...(promotion ? [formatPromotion(environment, promotion)] : []),
      ...(pairs.length === 0 ? [[`${environment}: there is no assignment`]] : []),
      ...pairs.map(formatPair),
    ];
    this.print(shown.flatMap((lines, at) => (at === 0 ? lines : ['', ...lines])));
    if (pairs.length > 0 && key !== undefined && pairs.every(({ values }) => values.length === 0))
      this.log(`there is no value at or below ${key}`);
    return defined({
      environment,
      promotion,
      pairs: pairs.map((pair) => ({ ...pair, held: pair.held && this.toErrorJson(pair.held) })),
    });
  }
}
