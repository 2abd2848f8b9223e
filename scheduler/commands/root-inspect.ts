import { hexOf } from '#bundles/digest';
import { FleetCommand } from '#bundles/program/fleet-command';
import { formatTime } from '#bundles/time';
import { parseCertificate } from '#bundles/trust/certificate';
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
    const authorities = root.agentCertificates.map(describeAuthority);
    for (const { sha256, ends } of authorities)
      this.log(`authority of agents: certificate SHA-256 ${sha256}, until ${ends}`);
    if (authorities.length === 0) this.log('authority of agents: none, so no hub can serve this fleet');
    return {
      fleet: root.fleet,
      dev: root.dev,
      version: root.version,
      expires: formatTime(root.expires),
      roots: roots.map(({ version, digest }) => ({ version, digest })),
      roles,
      authorities,
    };
  }
}

const describeAuthority = (pem: string) => {
  const { fingerprint256, validToDate } = parseCertificate(pem, "the root's authority");
  return { sha256: fingerprint256.replaceAll(':', '').toLowerCase(), ends: formatTime(validToDate) };
};

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
