import { Args, Flags } from '@oclif/core';
import { type PlannedLocal, planLocalValue, setLocalValue } from '../../apply/operator/set-local-value.ts';
import type { PackageResult } from '../../apply/package-result.ts';
import { AgentCommand } from '../agent-command.ts';
import { personFlag, personOf } from '../person-of.ts';
import { describeLocal } from '../describe-local.ts';
import { exitCodeOf, showPackages } from '../show-packages.ts';

export default class ValuesUnset extends AgentCommand {
  static override summary =
    'Take back a value that was set here, so that the value of the office counts again.';
  static override examples = ['<%= config.bin %> values unset lineNumber --reason "line 7 runs again"'];
  static override args = {
    name: Args.string({ required: true, description: 'A value that is local here' }),
  };
  static override flags = {
    reason: Flags.string({ required: true, description: 'Why, for the platform team' }),
    ...personFlag,
    'dry-run': Flags.boolean({ description: 'Only show what it would change' }),
  };

  async run(): Promise<PlannedLocal & { readonly packages: readonly PackageResult[] }> {
    const { args, flags } = await this.parse(ValuesUnset);
    const changeOf = (operator: string) => ({
      name: args.name,
      value: undefined,
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
