/** Lists at most `most` names for a message: 'dev/gate, prod/kiosk and 7 more'. */
export const nameSome = (names: readonly string[], most = 8): string => {
  const more = names.length - most;
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};
