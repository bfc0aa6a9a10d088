// Checks of legibility on small screens and for weak eyes; they run in the page.

// Waits until transitions of colours have ended.
export const settled = async () => {
  const changes = document.getAnimations().filter((one) => one instanceof CSSTransition);
  await Promise.allSettled(changes.map((change) => change.finished));
};

// The width of the content past that of the window, in pixels.
export const excess = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;

// Texts in an element whose contrast to their background is less than WCAG 2.2 AA requires: 4.5 to 1, for large ones 3 to 1.
export const faint = (within = document.body) => {
  // A colour of any notation as the browser paints it: [red, green, blue, alpha], 0 to 1.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const painted = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data].map((part) => part / 255));
    }
    return known.get(colour);
  };
  const over = ([red, green, blue, alpha], behind) =>
    [red, green, blue].map((part, index) => part * alpha + behind[index] * (1 - alpha));
  const luminance = (colour) => {
    const [red, green, blue] = colour.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const upwards = (element) => (element ? [...upwards(element.parentElement), element] : []);
  const ratio = (element) => {
    let behind = painted("Canvas").slice(0, 3);
    for (const one of upwards(element)) behind = over(painted(getComputedStyle(one).backgroundColor), behind);
    const style = getComputedStyle(element);
    const [red, green, blue, alpha] = painted(style.color);
    const opacity = upwards(element).reduce((whole, one) => whole * Number(getComputedStyle(one).opacity), alpha);
    const [low, high] = [behind, over([red, green, blue, opacity], behind)].map(luminance).sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const large = ({ fontSize, fontWeight }) => {
    const size = Number.parseFloat(fontSize);
    return size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700);
  };
  const ownText = (element) => {
    if (element.matches("input, textarea, select")) return element.value;
    return [...element.childNodes].map((node) => (node.nodeType === Node.TEXT_NODE ? node.data.trim() : "")).join("");
  };
  const found = new Set();
  for (const element of within.querySelectorAll("*")) {
    const text = ownText(element);
    if (!text || !element.checkVisibility({ visibilityProperty: true }) || element.closest("svg, :disabled")) continue;
    const measured = ratio(element);
    if (measured >= (large(getComputedStyle(element)) ? 3 : 4.5)) continue;
    const name = [element.localName, ...element.classList].join(".");
    found.add(`${name} ${measured.toFixed(2)} "${text.slice(0, 30)}"`);
  }
  return [...found];
};
