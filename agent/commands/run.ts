import { Flags } from '@oclif/core';
import { pino } from 'pino';
import { intervalMs } from '../config/config.ts';
import { type Look, lookAround } from '../observe/look-around.ts';
import { runDaemon } from '../observe/run-daemon.ts';
import { AgentCommand } from './agent-command.ts';
import { exitCodeOfLook, showLook } from './show-look.ts';

export class Run extends AgentCommand {
  static override summary = 'Keep what runs here as it was released; tell what differs.';
  static override description =
    'Goes on with what was interrupted, applies what is still wanted, and corrects or reports drift, again and again ' +
    'until it is told to stop. Logs a JSON object a line. SIGTERM lets the step under way end.';
  static override examples = [
    '<%= config.bin %> run',
    '<%= config.bin %> run --once',
    '<%= config.bin %> run --interval 30s --on-drift report',
  ];
  static override flags = {
    once: Flags.boolean({ description: 'Look once and end; exit code 7 or 8 when something is wrong' }),
  };

  async run(): Promise<Look | undefined> {
    const { flags } = await this.parse(Run);
    const look = (): Promise<Look> => this.changing(flags, lookAround);
    if (flags.once) return this.show(await look());
    const interval = intervalMs(this.readConfig(flags));
    const log = pino({
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    });
    log.info({ interval }, 'started');
    await runDaemon(look, interval, log, this.signal);
    return undefined;
  }

  private show(look: Look): Look {
    this.log(showLook(look));
    process.exitCode = exitCodeOfLook(look);
    return look;
  }
}
