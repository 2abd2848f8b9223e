import { Args, Flags } from '@oclif/core';
import { repeatable } from '#cli/flags';
import { AddCommand, addFlags, layerFlag, readLabels } from './add-command.ts';

export default class AddPolicy extends AddCommand {
  static override description =
    'Add a scheduling policy: every selected deployment target goes to every selected cluster type.\n\nA policy without labels selects all. --dry-run prints the assignments that it adds.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> factory-floor --workspace production --target-label runs=factory --type-label place=factory --dry-run',
  ];
  static override args = { name: Args.string({ required: true, description: 'Name of the policy' }) };
  static override flags = {
    ...addFlags,
    ...layerFlag,
    workspace: Flags.string({ description: 'Only deployment targets of this workspace' }),
    'target-label': Flags.string({
      description: '<label>=<value> that deployment targets must have',
      ...repeatable,
    }),
    'type-label': Flags.string({
      description: '<label>=<value> that cluster types must have',
      ...repeatable,
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AddPolicy);
    return await this.addObject(
      {
        kind: 'SchedulingPolicy',
        name: args.name,
        workspace: flags.workspace,
        targets: readLabels(flags['target-label'], 'target-label'),
        clusterTypes: readLabels(flags['type-label'], 'type-label'),
      },
      flags,
    );
  }
}
