/** Where Debian has another name than OCI. */
const NAMES: Readonly<Record<string, string>> = {
  386: 'i386',
  arm: 'armhf',
  'arm/v5': 'armel',
  'arm/v6': 'armel',
  'arm/v7': 'armhf',
  'arm64/v8': 'arm64',
  mips64le: 'mips64el',
  ppc64le: 'ppc64el',
};

/** Debian's name of the architecture of an OCI platform: 'linux/arm/v7' is armhf. */
export const debianArchitecture = (platform: string): string => {
  const name = platform.slice(platform.indexOf('/') + 1);
  return NAMES[name] ?? name;
};
