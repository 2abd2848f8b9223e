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

/**
 * Debian's names of the architecture of an OCI platform, which hosts of it may have: 'linux/arm/v7' is armhf, 'linux/amd64/v3' is amd64, and
 * 'linux/arm/v6' is either of two.
 */
export const debianArchitectures = (platform: string): readonly string[] => {
  const [, architecture = '', variant] = platform.split('/');
  const both = `${architecture}/${variant}`;
  return both === 'arm/v6' ? ARM_V6 : [NAMES[both] ?? NAMES[architecture] ?? architecture];
};
