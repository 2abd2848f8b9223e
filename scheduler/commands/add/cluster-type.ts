import { Args, Flags } from '@oclif/core';
import { repeatable } from '#cli/flags';
import { AddCommand, addFlags, layerFlag, readLabels } from './add-command.ts';

export default class AddClusterType extends AddCommand {
  static override description =
    'Add a cluster type: a class of clusters or hosts that get the same packages.\n\nThe file goes where the platform keeps its other cluster types. Nothing is written if the platform with it would not validate.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> press --target host --label place=factory --dry-run',
    '<%= config.bin %> <%= command.id %> ship --label place=ship --cpu-platform linux/arm64 --offline --platform https://git.example/platform --pull-request',
  ];
  static override args = { name: Args.string({ required: true, description: 'Name, a DNS label' }) };
  static override flags = {
    ...addFlags,
    ...layerFlag,
    label: Flags.string({ description: '<label>=<value> that policies and layers select by', ...repeatable }),
    target: Flags.string({ description: 'kubernetes or host [default: kubernetes]' }),
    reconciler: Flags.string({ description: 'Template that delivers the manifests [default: fleet]' }),
    'namespace-service': Flags.string({ description: 'Template for what every assignment gets' }),
    'config-type': Flags.string({ description: 'Template that writes the configuration' }),
    'cpu-platform': Flags.string({
      description: 'OCI platform that images are carried for, like linux/amd64',
      ...repeatable,
    }),
    offline: Flags.boolean({ description: 'Its sites have no network' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AddClusterType);
    return await this.addObject(
      {
        kind: 'ClusterType',
        name: args.name,
        labels: readLabels(flags.label, 'label'),
        target: flags.target,
        reconciler: flags.reconciler,
        namespaceService: flags['namespace-service'],
        configType: flags['config-type'],
        platforms: flags['cpu-platform'] ?? [],
        offline: flags.offline,
      },
      flags,
    );
  }
}
