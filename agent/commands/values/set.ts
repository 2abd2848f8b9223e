import { Args, Flags } from '@oclif/core';
import { parseValue } from '#bundles/formats/author-schema/parse-value';
import { type PlannedLocal, planLocalValue, setLocalValue } from '../../apply/operator/set-local-value.ts';
import type { PackageResult } from '../../apply/package-result.ts';
import { AgentCommand } from '../agent-command.ts';
import { personFlag, personOf } from '../person-of.ts';
import { describeLocal } from '../describe-local.ts';
import { exitCodeOf, showPackages } from '../show-packages.ts';

export default class ValuesSet extends AgentCommand {
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
  static override flags = {
    reason: Flags.string({ required: true, description: 'Why, for the platform team' }),
    ...personFlag,
    'dry-run': Flags.boolean({ description: 'Only show what it would change' }),
  };

  async run(): Promise<PlannedLocal & { readonly packages: readonly PackageResult[] }> {
    const { args, flags } = await this.parse(ValuesSet);
    const [name, value] = parseValue(args.value);
    const changeOf = (operator: string) => ({
      name,
      value,
      person: personOf(flags.person, operator),
      reason: flags.reason,
    });
    if (flags['dry-run']) {
      const planned = await this.reading(flags, (agent) =>
        planLocalValue(agent, changeOf(agent.edge.operator)),
      );
      this.print(...describeLocal(planned, 'planned'));
      return { ...planned, packages: [] };
    }
    const done = await this.changing(flags, (agent) => setLocalValue(agent, changeOf(agent.edge.operator)));
    this.print(
      ...describeLocal(done, 'done'),
      ...(done.packages.length === 0 ? [] : [showPackages(done.packages)]),
    );
    process.exitCode = exitCodeOf(done.packages);
    return done;
  }
}
