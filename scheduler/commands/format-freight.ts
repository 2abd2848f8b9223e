import type { Freight } from '#bundles/transport/publish/send-batch';

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** '17 bytes', '1.3 MB': powers of a thousand, as lines and registries are sold. */
export const formatSize = (bytes: number): string => {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${unit === 0 ? bytes : (bytes / 1000 ** unit).toFixed(1)} ${UNITS[unit]}`;
};

/** '3 blobs (1.2 MB) uploaded, 2 mounted, 5 there already'; '' where nothing was looked at. */
export const formatFreight = ({ uploaded, mounted, there, bytes }: Freight, verb: string): string =>
  [
    ...(uploaded > 0 ? [`${uploaded} blob${uploaded === 1 ? '' : 's'} (${formatSize(bytes)}) ${verb}`] : []),
    ...(mounted > 0 ? [`${mounted} mounted`] : []),
    ...(there > 0 ? [`${there} there already`] : []),
  ].join(', ');
