import { Args } from '@oclif/core';
import { parseValue } from '#bundles/formats/author-schema/parse-value';
import type { SetLocal } from '../../apply/operator/set-local-value.ts';
import { ChangeCommand } from './change-command.ts';

export default class ValuesSet extends ChangeCommand {
  static override summary = 'Change a value that the platform granted to this site, and apply it at once.';
  static override description =
    'It counts here until the office accepts or refuses it: it is reported with your name, the reason and the old value. ' +
    '"values" shows which values are granted (editable by site). Whole numbers, true, false, null and JSON are read as such, everything else as text.';
  static override examples = [
    '<%= config.bin %> values set lineNumber=8 --reason "line 7 is being rebuilt"',
    '<%= config.bin %> values set lineNumber=8 --reason "line 7 is being rebuilt" --person anna --dry-run',
  ];
  static override args = {
    value: Args.string({ required: true, description: 'NAME=VALUE' }),
  };

  async run(): Promise<SetLocal> {
    const { args, flags } = await this.parse(ValuesSet);
    const [name, value] = parseValue(args.value);
    return this.change(flags, { name, value });
  }
}
