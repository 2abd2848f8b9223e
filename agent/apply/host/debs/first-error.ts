/** The first 'E: ' line of apt, or the first line. */
export const firstError = (stderr: string): string => {
  const lines = stderr.split('\n').map((line) => line.trim());
  const error = lines.find((line) => line.startsWith('E: '));
  return error?.slice(3) ?? lines.find((line) => line !== '') ?? 'it said nothing';
};
