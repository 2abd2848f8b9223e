import { Args, Flags } from '@oclif/core';
import { readGivenFile } from '#bundles/read-given-file';
import { repeatable } from '#cli/flags';
import { AddCommand, addFlags, layerFlag } from './add-command.ts';

export default class AddTemplate extends AddCommand {
  static override description =
    'Add a template: text that is rendered for each assignment of the cluster types that name it.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> team-namespace --type namespace --manifest namespace.hbs --dry-run',
  ];
  static override args = { name: Args.string({ required: true, description: 'Name of the template' }) };
  static override flags = {
    ...addFlags,
    ...layerFlag,
    type: Flags.string({ required: true, description: 'reconciler, namespace or config' }),
    manifest: Flags.string({ required: true, description: 'File with a text to render', ...repeatable }),
    engine: Flags.string({ description: 'handlebars or go [default: handlebars]' }),
    'content-type': Flags.string({ description: 'Extension of the rendered file [default: yaml]' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AddTemplate);
    const manifests = await Promise.all(flags.manifest.map((file) => readGivenFile(file, 'a template')));
    return await this.addObject(
      {
        kind: 'Template',
        name: args.name,
        type: flags.type,
        engine: flags.engine,
        contentType: flags['content-type'],
        manifests,
      },
      flags,
    );
  }
}
