extension DemoTip {
  private static func tip(_ id: String, _ title: String, _ body: String, _ tags: String...)
    -> DemoTip
  {
    DemoTip(id: id, drink: .tea, title: title, body: body, tags: tags)
  }

  static let tea: [DemoTip] = [
    tip(
      "green-tea-cooler", "Green tea wants cooler water",
      "At 70 to 80 °C green tea stays sweet; boiling water draws out what is bitter. Without a "
        + "thermometer: boil, then let it stand open for five minutes.", "green", "water"),
    tip(
      "black-tea-boiling", "Black tea wants boiling water",
      "Black tea needs the heat: pour as soon as it boils, and steep for three to five minutes. "
        + "In the mountains, where water boils cooler, give it longer.", "black", "water"),
    tip(
      "tea-by-weight", "Two grams a cup",
      "Start at 2 g of leaf to 200 ml. A teaspoon holds 3 g of small broken leaf, but hardly 1 g "
        + "of a large oolong or white tea.", "ratio"),
    tip(
      "stronger-not-longer", "Stronger, not longer",
      "For stronger tea use more leaf. Steeping longer mostly adds tannins, and the cup turns "
        + "harsh.", "taste"),
    tip(
      "take-leaves-out", "Take the leaves out",
      "Tea goes on brewing as long as the leaves are in it. Use a large basket, and lift it out "
        + "when the time is up.", "method"),
    tip(
      "room-to-open", "Give the leaves room",
      "Leaves grow to several times their size. In a tight ball only the outer ones meet the "
        + "water; a wide basket or a plain pot is better.", "method"),
    tip(
      "steep-again", "Steep good leaves again",
      "Oolong, pu-erh and many green teas give three infusions or more. Add a little time with "
        + "each; the second is often the best.", "oolong", "method"),
    tip(
      "rinse-puerh", "Rinse pu-erh first",
      "Pour hot water over pressed tea and throw it away after five seconds. It washes off dust "
        + "and lets the cake open.", "pu-erh"),
    tip(
      "fresh-water", "Use fresh water",
      "Water that has been kept hot for hours tastes flat, and scale spoils the surface of tea. "
        + "Fill the kettle with what you need.", "water"),
    tip(
      "store-tea", "Keep tea away from the spices",
      "Tea takes on every smell around it. Keep it in a tight tin, dark and dry; keep smoked and "
        + "scented teas apart from the others.", "storage"),
    tip(
      "gyokuro-warm", "Gyokuro: barely hot",
      "Shaded teas are brewed at 50 to 60 °C with little water, for about two minutes. The cup is "
        + "small, thick and savoury.", "green"),
    tip(
      "matcha-sieve", "Sieve your matcha",
      "Two grams through a fine sieve, a little water at 75 °C to a smooth paste, then 60 ml more "
        + "and a quick whisk in zigzags. No lumps, fine foam.", "green"),
    tip(
      "herbal-cover", "Cover herbal tea",
      "Boiling water, five to ten minutes, and a lid: what smells so good of mint or chamomile "
        + "leaves with the steam.", "herbal"),
    tip(
      "milk-in-tea", "Milk only in strong tea",
      "Milk binds tannins and softens a strong Assam or breakfast blend. A delicate Darjeeling or "
        + "white tea disappears under it.", "black", "milk"),
    tip(
      "cold-steep", "Steep it cold",
      "10 g of leaf to a litre of cold water, six to ten hours in the fridge. Hardly any "
        + "bitterness comes along, and it is gentle even with a leaf you find too harsh.", "cold"),
    tip(
      "iced-tea-cloud", "Clear iced tea",
      "Strong black tea clouds when it is chilled fast. Let it cool to room temperature before it "
        + "goes into the fridge, or steep it cold.", "cold", "black"),
    tip(
      "white-tea", "White tea is not weak",
      "It is bulky rather than delicate: use more of it than you think, water at 80 to 85 °C, and "
        + "three to five minutes.", "white"),
    tip(
      "chai-simmer", "Chai: spices first",
      "Simmer crushed ginger, cardamom and cinnamon in the water for five minutes, then add tea "
        + "and milk. Spices need longer than leaves do.", "black", "spice"),
  ]
}
