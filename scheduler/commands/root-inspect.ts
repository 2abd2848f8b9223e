import { hexOf } from '#bundles/digest';
import { FleetCommand } from '#bundles/program/fleet-command';
import { formatTime } from '#bundles/time';
import { fingerprint, type PublicKey } from '#bundles/trust/key';
import type { TrustRoot } from '#bundles/trust/root';
import { readConfiguration, requireSetting } from '../configuration.ts';
import { configurationFlags } from '../configuration-flags.ts';
import { openKeyDirectory } from '../sign/key-directory.ts';

const { config, keys } = configurationFlags;

export default class RootInspect extends FleetCommand {
  static override description =
    'Show the roots of a fleet: their SHA-256, when they end, and whose keys count for what.';
  static override examples = ['<%= config.bin %> <%= command.id %> --keys ./keys'];
  static override flags = { config, keys };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RootInspect);
    const now = this.readNow(flags.now);
    const directory = requireSetting(await readConfiguration(flags, process.cwd()), 'keys');
    const { roots, root } = await openKeyDirectory(directory);
    if (root.dev) this.say('DEV ROOT: for development only, never for real machines.');
    this.log(
      `fleet ${root.fleet}, root ${root.version}, valid until ${formatTime(root.expires)}${root.expires <= now ? ': ENDED' : ''}`,
    );
    for (const { version, digest } of roots) this.log(`root ${version}  SHA-256 ${hexOf(digest)}`);
    const roles = rolesOf(root);
    for (const { role, threshold, keys: held } of roles) {
      this.log(`${role}: ${threshold} of ${held.length}`);
      for (const key of held) this.log(`  ${key}`);
    }
    return {
      fleet: root.fleet,
      dev: root.dev,
      version: root.version,
      expires: formatTime(root.expires),
      roots: roots.map(({ version, digest }) => ({ version, digest })),
      roles,
    };
  }
}

const rolesOf = ({ roles, receipt, audit }: TrustRoot) =>
  [
    ...Object.entries(roles),
    // Any one of these keys is enough: a receipt and a log head are not orders.
    ['receipt', { keys: receipt, threshold: 1 }] as const,
    ['audit', { keys: audit, threshold: 1 }] as const,
  ].map(([role, { keys: held, threshold }]) => ({
    role,
    threshold,
    keys: held.map((key: PublicKey) => fingerprint(key)),
  }));
