import type { FleetError } from '#bundles/errors';

/** What, where, and what to do: whoever reads a status or an event has no other place where the hint could be. */
export const sentenceOf = ({ subject, message, hint }: FleetError): string => {
  const said = subject && !message.startsWith(subject) ? `${subject}: ${message}` : message;
  return hint === undefined ? said : `${said} (${hint})`;
};
