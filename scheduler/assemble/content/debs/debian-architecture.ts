/** Architectures of OCI, some with a variant, to which Debian gives another name. */
const NAMES: Readonly<Record<string, string>> = {
  386: 'i386',
  arm: 'armhf',
  'arm/v5': 'armel',
  'arm/v6': 'armel',
  mipsle: 'mipsel',
  mips64le: 'mips64el',
  ppc64le: 'ppc64el',
};

/** Debian's name of the architecture of an OCI platform: 'linux/arm/v7' is armhf, and 'linux/amd64/v3' is amd64. */
export const debianArchitecture = (platform: string): string => {
  const [, architecture = '', variant] = platform.split('/');
  return NAMES[`${architecture}/${variant}`] ?? NAMES[architecture] ?? architecture;
};
