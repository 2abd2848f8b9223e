/** Lists at most `most` names for a message: 'dev/gate, prod/kiosk and 7 more'. @param total where `names` are the first of more */
export const nameSome = (names: readonly string[], most = 8, total = names.length): string => {
  const shown = names.slice(0, most);
  const more = total - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};
