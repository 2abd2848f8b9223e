import { Args } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { ownUnit } from '../apply/host/processes.ts';
import { runCommand, runInUnit } from '../apply/host/run-command.ts';
import { leaveRunning } from '../apply/host/runner/leave-running.ts';
import { performRequest } from '../apply/host/runner/perform-request.ts';
import { isStepId, runnerUnit, type StoredResult } from '../apply/host/runner/step-folder.ts';
import { AgentCommand } from './agent-command.ts';

/** The program of fleet-agent-runner@.service. */
export default class RunStep extends AgentCommand {
  static override hidden = true;
  static override summary = 'Perform one step that the agent requested and store its result.';
  static override description =
    'For fleet-agent-runner@.service, which the agent starts. The content of the step is verified against the store before it begins.';
  static override examples = ['<%= config.bin %> run-step 4f1c3a52b0f74e5a9a7e1d2c3b4a5968'];
  static override args = {
    id: Args.string({ required: true, description: 'Id of the request' }),
  };

  async run(): Promise<StoredResult> {
    const { args, flags } = await this.parse(RunStep);
    if (!isStepId(args.id))
      throw new FleetError('USAGE', `${JSON.stringify(args.id)} is not the id of a request`);
    const { state } = this.readConfig(flags);
    // No lock: the agent that waits for the result holds it.
    const isUnit = ownUnit() === runnerUnit(args.id);
    const run = isUnit ? runInUnit : runCommand;
    const result = await performRequest({ state, run }, args.id, this.signal);
    // Output of the step's programs goes to the journal of the unit, where an administrator looks first.
    if (result.outcome === 'refused') this.log(`refused: ${result.error.message}`);
    else
      for (const text of [result.first, result.last, `${result.outcome}: ${result.message}`])
        if (text !== '') this.logText(text);
    const left = isUnit ? await leaveRunning(run, args.id, this.signal) : undefined;
    if (left)
      this.log(
        'scope' in left
          ? `left running: ${left.scope}`
          : `systemd ends what is left running: no scope could be made for it: ${left.failed}`,
      );
    return result;
  }
}
