import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { ALL_KINDS, readAuthorSchema } from '../../load/init/author-schemas.ts';

export default class Schema extends FleetCommand {
  static override description = `Print a JSON Schema of what authors write, for editors and validators.

The schema platform covers all kinds, chosen by apiVersion and kind.`;
  static override examples = [
    '<%= config.bin %> schema > schemas/platform.schema.json',
    '<%= config.bin %> schema cluster-type',
  ];
  static override args = {
    name: Args.string({ default: ALL_KINDS, description: 'Schema, like cluster-type or kalypso-workload' }),
  };

  async run(): Promise<unknown> {
    const { args } = await this.parse(Schema);
    const text = await readAuthorSchema(args.name);
    this.logText(text.trimEnd());
    return JSON.parse(text) as unknown;
  }
}
