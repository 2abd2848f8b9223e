import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { newObject } from '../../author/new-object.ts';
import { chooseLayer } from '../../author/place/choose-layer.ts';
import { planNew } from '../../author/place/plan-edit.ts';
import { planFirst, planFleetEnvironment } from '../../author/place/plan-environment.ts';
import { AddCommand, addFlags } from './add-command.ts';

export default class AddEnvironment extends AddCommand {
  static override description =
    "Add an environment to fleet.yaml. In an empty directory it makes fleet.yaml, with --fleet.\n\nIn Kalypso's form it is an Environment object, for a branch that the control plane has.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> dev --fleet acme --platform .',
    '<%= config.bin %> <%= command.id %> staging --promoted-from dev --dry-run',
    '<%= config.bin %> <%= command.id %> qa --repo https://git.example/control-plane --branch qa --path .',
  ];
  static override args = { name: Args.string({ required: true, description: 'Name, a DNS label' }) };
  static override flags = {
    ...addFlags,
    'promoted-from': Flags.string({
      description: 'Environment whose promoted candidates this one is built from',
    }),
    repo: Flags.string({ description: "Kalypso's form: Git URL of the control plane" }),
    branch: Flags.string({ description: "Kalypso's form: its branch of this environment" }),
    path: Flags.string({ description: "Kalypso's form: folder in the branch" }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AddEnvironment);
    const { name } = args;
    const entry = { name, promotedFrom: flags['promoted-from'] };
    const { repo, branch, path } = flags;
    const wrong = (flag: string, form: string): FleetError =>
      new FleetError('USAGE', `--${flag} is for a platform in ${form}`, { hint: 'See --help' });
    return await this.add(
      flags,
      (layers) => {
        if (layers[0]?.form !== 'kalypso') {
          if (repo !== undefined || branch !== undefined || path !== undefined)
            throw wrong('repo', "Kalypso's form");
          return planFleetEnvironment(layers, entry);
        }
        if (entry.promotedFrom !== undefined)
          throw wrong('promoted-from', 'the folder form, with fleet.yaml');
        const given = { kind: 'Environment', name, repo, branch, path } as const;
        return planNew(chooseLayer(layers, 'Environment', undefined), newObject('kalypso', given));
      },
      (platform) => (flags.fleet === undefined ? undefined : planFirst(platform, flags.fleet, entry)),
    );
  }
}
