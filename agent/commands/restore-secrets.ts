import { type Restored, restoreSecrets } from '../apply/restore-secrets.ts';
import { AgentCommand } from './agent-command.ts';

export default class RestoreSecrets extends AgentCommand {
  static override summary =
    'Restore the files of secrets that a boot removed from memory, before the services that read them start.';
  static override description =
    'For fleet-agent-secrets.service, early in the boot. It changes nothing else. The daemon restores them at every look as well.';
  static override examples = ['<%= config.bin %> restore-secrets'];

  async run(): Promise<{ readonly restored: readonly Restored[] }> {
    const { flags } = await this.parse(RestoreSecrets);
    // Takes no lock: an import holds it while it starts a service that depends on this unit. Missing files are written atomically.
    const restored = await this.reading(flags, restoreSecrets);
    for (const { assignment, paths, error } of restored) {
      for (const path of paths) this.log(`${assignment}: ${path} is there again`);
      if (error) this.warn(`${assignment}: ${error.code}: ${error.message}`);
    }
    if (restored.some(({ error }) => error)) process.exitCode = 7;
    return { restored };
  }
}
