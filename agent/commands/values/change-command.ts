import { Flags } from '@oclif/core';
import {
  type LocalChange,
  planLocalValue,
  type SetLocal,
  setLocalValue,
} from '../../apply/operator/set-local-value.ts';
import { AgentCommand, type ConfigFlags } from '../agent-command.ts';
import { describeLocal } from '../describe-local.ts';
import { personFlag, personOf } from '../person-of.ts';
import { exitCodeOf, showPackages } from '../show-packages.ts';

type ChangeFlags = ConfigFlags & {
  readonly person?: string | undefined;
  readonly reason: string;
  readonly 'dry-run': boolean;
};

/** Base of the commands that set a local value and take it back. */
export abstract class ChangeCommand extends AgentCommand {
  static override flags = {
    reason: Flags.string({ required: true, description: 'Why, for the platform team' }),
    ...personFlag,
    'dry-run': Flags.boolean({ description: 'Only show what it would change' }),
  };

  protected async change(
    flags: ChangeFlags,
    { name, value }: Pick<LocalChange, 'name' | 'value'>,
  ): Promise<SetLocal> {
    const changeOf = (operator: string): LocalChange => ({
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
