import type { FleetError } from '#bundles/errors';

/** Joins subject, message and hint of an error into one text, for a status or event that has no field for the hint. */
export const sentenceOf = ({ subject, message, hint }: FleetError): string => {
  const said = subject && !message.startsWith(subject) ? `${subject}: ${message}` : message;
  return hint === undefined ? said : `${said} (${hint})`;
};
