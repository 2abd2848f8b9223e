import { Args } from '@oclif/core';
import type { SetLocal } from '../../apply/operator/set-local-value.ts';
import { ChangeCommand } from './change-command.ts';

export default class ValuesUnset extends ChangeCommand {
  static override summary =
    'Take back a value that was set here, so that the value of the office counts again.';
  static override examples = ['<%= config.bin %> values unset lineNumber --reason "line 7 runs again"'];
  static override args = {
    name: Args.string({ required: true, description: 'A value that is local here' }),
  };

  async run(): Promise<SetLocal> {
    const { args, flags } = await this.parse(ValuesUnset);
    return this.change(flags, { name: args.name, value: undefined });
  }
}
