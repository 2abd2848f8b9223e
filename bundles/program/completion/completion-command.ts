import { Args, type Command } from '@oclif/core';
import { loadCommands } from '../commands.ts';
import { FleetCommand } from '../fleet-command.ts';
import { loadConfig, type Program } from '../load-config.ts';
import { bashScript } from './bash.ts';
import { childrenOf, describeVerbs } from './describe-verbs.ts';
import { fishScript } from './fish.ts';
import { zshScript } from './zsh.ts';

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** The verb that prints what a shell needs to complete the others: made of the verbs themselves, so it is never behind them. */
export const completionCommand = (program: Program): Command.Class =>
  class Completion extends FleetCommand {
    static override summary = 'Print the script that completes verbs, flags and values in your shell';
    static override examples = [
      'source <(<%= config.bin %> completion bash)',
      '<%= config.bin %> completion zsh > "${fpath[1]}/_<%= config.bin %>"',
      '<%= config.bin %> completion fish > ~/.config/fish/completions/<%= config.bin %>.fish',
    ];
    static override args = {
      shell: Args.string({ required: true, options: Object.keys(SHELLS), description: 'Which shell' }),
    };

    async run(): Promise<{ readonly shell: string; readonly script: string }> {
      const { args } = await this.parse(Completion);
      const shell = args.shell as keyof typeof SHELLS;
      const { commands } = await loadConfig(program, await loadCommands(program.commands));
      const verbs = describeVerbs(commands);
      const script = SHELLS[shell](program.name, verbs, childrenOf(verbs, program.topics ?? {}));
      this.log(script.trimEnd());
      return { shell, script };
    }
  };
