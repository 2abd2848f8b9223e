const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** '17 bytes', '1.30 MiB', '17.0 GiB': three digits or more. */
export const formatBytes = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} bytes`;
  let value = bytes / 1024;
  let unit = 0;
  while (Number(value.toFixed(1)) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(value < 9.995 ? 2 : 1)} ${UNITS[unit]}`;
};
