import { Args, Flags } from '@oclif/core';
import { AddCommand, addFlags, layerFlag } from './add-command.ts';

export default class AddWorkload extends AddCommand {
  static override description =
    'Register a workload: the repository and folder with the Workload of a team.\n\nThe repository is read first: a workload that cannot be read, or has a mistake, is not registered.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> label-printer --repo https://git.example/printing --branch main --path deploy --workspace production',
  ];
  static override args = { name: Args.string({ required: true, description: 'Name of the registration' }) };
  static override flags = {
    ...addFlags,
    ...layerFlag,
    repo: Flags.string({ required: true, description: 'Git URL, or a directory relative to the platform' }),
    branch: Flags.string({ description: 'Branch to read [default: the default branch]' }),
    ref: Flags.string({ description: 'Branch, tag or commit, instead of --branch', exclusive: ['branch'] }),
    path: Flags.string({ description: 'Folder of the Workload in that repository [default: all of it]' }),
    workspace: Flags.string({ description: 'Workspace of the team; its grants and limits apply' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AddWorkload);
    const { repo, branch, ref, path, workspace } = flags;
    return await this.addObject(
      { kind: 'WorkloadRegistration', name: args.name, repo, branch, ref, path, workspace },
      flags,
    );
  }
}
