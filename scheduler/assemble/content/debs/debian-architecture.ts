/** Architectures of OCI, some with a variant, to which Debian gives another name. */
const NAMES: Readonly<Record<string, string>> = {
  386: 'i386',
  arm: 'armhf',
  'arm/v5': 'armel',
  mipsle: 'mipsel',
  mips64le: 'mips64el',
  ppc64le: 'ppc64el',
};

/** Raspberry Pi OS is built for ARMv6 and is armhf; of Debian itself, whose armhf needs ARMv7, armel runs there. */
const ARM_V6: readonly string[] = ['armhf', 'armel'];

/** Debian's names for the architecture of an OCI platform: armhf for 'linux/arm/v7', amd64 for 'linux/amd64/v3', armhf and armel for 'linux/arm/v6'. */
export const debianArchitectures = (platform: string): readonly string[] => {
  const [, architecture = '', variant] = platform.split('/');
  const both = `${architecture}/${variant}`;
  return both === 'arm/v6' ? ARM_V6 : [NAMES[both] ?? NAMES[architecture] ?? architecture];
};
